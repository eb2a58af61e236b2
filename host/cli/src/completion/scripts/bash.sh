# Completion of PROGRAM in bash.

_PROGRAM_complete() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("${1/#\~/$HOME}" completion bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}

# The candidates contain the space after a word.
complete -o nospace -F _PROGRAM_complete PROGRAM
