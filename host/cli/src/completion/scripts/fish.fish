# Completion of PROGRAM in fish.

function __PROGRAM_complete
    set -l earlier (commandline -opc)
    set -l current (commandline -ct)
    $earlier[1] completion fish -- $earlier[2..-1] "$current" 2>/dev/null
end

complete -c PROGRAM -e
complete -c PROGRAM -f -k -a '(__PROGRAM_complete)'
