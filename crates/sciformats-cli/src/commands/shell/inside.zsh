
# Where a path in a file may stand, such paths are completed; the program says where that is.
_sciformats_inside() {
    local -a found
    found=("${(@f)$(command sciformats --quiet paths -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n ${found[1]} ]]; then
        compadd -S '' -U -a found
        return
    fi
    _sciformats "$@"
}

compdef _sciformats_inside sciformats
