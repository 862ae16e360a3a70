
# After the name of a file, paths in the file are completed.
_sciformats_inside() {
    local word="${COMP_WORDS[COMP_CWORD]}" command="" file="" at found
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${COMP_WORDS[at]}" in
            -*) ;;
            *)
                if [[ -z $command ]]; then
                    command="${COMP_WORDS[at]}"
                elif [[ -f ${COMP_WORDS[at]} ]]; then
                    file="${COMP_WORDS[at]}"
                fi
                ;;
        esac
    done
    case "$command" in
        ls | cat | head | tail | plot | stats | attrs) ;;
        *) file="" ;;
    esac
    if [[ -n $file && $word != -* ]]; then
        COMPREPLY=()
        while IFS= read -r found; do
            printf -v found '%q' "$found"
            COMPREPLY+=("$found")
        done < <(command sciformats --quiet paths "$file" "$word" 2>/dev/null)
        if ((${#COMPREPLY[@]} > 0)); then
            if [[ ${#COMPREPLY[@]} -gt 1 || ${COMPREPLY[0]} == */ ]]; then
                compopt -o nospace
            fi
            return 0
        fi
    fi
    _sciformats "$@"
}

complete -F _sciformats_inside -o bashdefault -o default sciformats
