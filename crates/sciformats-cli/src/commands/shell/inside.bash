
# Where a path in a file may stand, such paths are completed; the program says where that is.
_sciformats_inside() {
    local word="${COMP_WORDS[COMP_CWORD]}" found
    local -a words=("${COMP_WORDS[@]:1:COMP_CWORD-1}") paths=()
    while IFS= read -r found; do
        printf -v found '%q' "$found"
        paths+=("$found")
    done < <(command sciformats --quiet paths -- "${words[@]}" "$word" 2>/dev/null)
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
