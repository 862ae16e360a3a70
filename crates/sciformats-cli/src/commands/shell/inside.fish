
# Where a path in a file may stand, such paths are completed; the program says where that is.
function __sciformats_paths
    command sciformats --quiet paths -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end

complete -c sciformats -a '(__sciformats_paths)'
for option in select only ignore chunk filter-of
    complete -c sciformats -l $option -r -a '(__sciformats_paths)'
end
