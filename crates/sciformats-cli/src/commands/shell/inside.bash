
# Where a path in a file may stand, such paths are completed; the program says where that is.
_sciformats_inside() {
    local piece found before=""
    local -a words=() paths=()
    # Bash ends words at colons. What is one word in the line, such as FILE:/PATH, becomes one again.
    for piece in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if ((${#words[@]} > 0)) && [[ ($piece == :* || ${words[-1]} == *:) && $COMP_LINE == *"${words[-1]}$piece"* ]]; then
            words[-1]+=$piece
        else
            words+=("$piece")
        fi
    done
    # Only what follows the last colon is replaced.
    if [[ $COMP_WORDBREAKS == *:* ]]; then
        before="${words[-1]%"${words[-1]##*:}"}"
    fi
    while IFS= read -r found; do
        printf -v found '%q' "${found#"$before"}"
        paths+=("$found")
    done < <(command sciformats --quiet paths -- "${words[@]}" 2>/dev/null)
    if ((${#paths[@]} > 0)); then
        COMPREPLY=("${paths[@]}")
        if [[ ${#COMPREPLY[@]} -gt 1 || ${COMPREPLY[0]} == */ ]]; then
            compopt -o nospace
        fi
        return 0
    fi
    _sciformats "$@"
}

complete -F _sciformats_inside -o bashdefault -o default sciformats
