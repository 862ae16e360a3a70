
# After the name of a file, paths in the file are completed.
_sciformats_inside() {
    local command="" file="" word
    local -i at
    local -a found
    for (( at = 2; at < CURRENT; at++ )); do
        word="${(Q)words[at]}"
        if [[ $word == -* ]]; then
            continue
        elif [[ -z $command ]]; then
            command="$word"
        elif [[ -f $word ]]; then
            file="$word"
        fi
    done
    case "$command" in
        (ls|cat|head|tail|plot|stats|attrs) ;;
        (*) file="" ;;
    esac
    word="${(Q)words[CURRENT]}"
    if [[ -n $file && $word != -* ]]; then
        found=("${(@f)$(command sciformats --quiet paths "$file" "$word" 2>/dev/null)}")
        if [[ -n ${found[1]} ]]; then
            compadd -S '' -U -a found
            return
        fi
    fi
    _sciformats "$@"
}

compdef _sciformats_inside sciformats
