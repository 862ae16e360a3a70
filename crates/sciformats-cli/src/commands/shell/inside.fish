
# After the name of a file, paths in the file are completed.
function __sciformats_paths
    set -l command ''
    set -l file ''
    for word in (commandline -opc)[2..-1]
        if string match -q -- '-*' $word
            continue
        else if test -z "$command"
            set command $word
        else if test -f "$word"
            set file $word
        end
    end
    if contains -- "$command" ls cat head tail plot stats attrs; and test -n "$file"
        command sciformats --quiet paths "$file" (commandline -ct) 2>/dev/null
    end
end

complete -c sciformats -a '(__sciformats_paths)'
