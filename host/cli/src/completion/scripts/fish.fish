# Completion of PROGRAM in fish.

function __PROGRAM_complete
    set -l earlier (commandline -opc)
    set -l current (commandline -ct)
    # Fish does not expand the tilde of a command in a variable.
    set -l program $earlier[1]
    if string match -q '~/*' -- $program
        set program $HOME(string sub -s 2 -- $program)
    end
    $program completion fish -- $earlier[2..-1] "$current" 2>/dev/null
end

complete -c PROGRAM -e
complete -c PROGRAM -f -k -a '(__PROGRAM_complete)'
