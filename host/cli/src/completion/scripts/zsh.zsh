#compdef PROGRAM
# Completion of PROGRAM in zsh.

_PROGRAM() {
    local ending word about
    local -a complete open
    # The current word is passed up to the cursor.
    local -a given=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    local strip=''
    if [[ ${(Q)PREFIX} == -*=* ]]; then
        strip='*='
        compset -P 1 '*='
    fi
    while IFS=$'\t' read -r ending word about; do
        word=${word#$~strip}
        word=${word//\\/\\\\}
        word=${word//:/\\:}
        if [[ $ending == open ]]; then
            open+=("$word${about:+:$about}")
        else
            complete+=("$word${about:+:$about}")
        fi
    done < <(${(Q)words[1]/#\~/$HOME} completion zsh -- "${given[@]}" 2>/dev/null)
    local result=1
    (( $#complete )) && _describe -t words word complete && result=0
    (( $#open )) && _describe -t open-words word open -S '' && result=0
    return result
}

if [[ ${funcstack[1]} == _PROGRAM ]]; then
    _PROGRAM "$@"
else
    if (( ! $+functions[compdef] )); then
        autoload -Uz compinit && compinit
    fi
    compdef _PROGRAM PROGRAM
fi
