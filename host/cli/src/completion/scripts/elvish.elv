# Completion of PROGRAM in elvish.

use str

set edit:completion:arg-completer[PROGRAM] = {|program @words|
    (external $program) completion elvish -- $@words 2>/dev/null | from-lines | each {|line|
        var ending word about = (str:split &max=3 "\t" $line)
        var space = ' '
        if (eq $ending open) {
            set space = ''
        }
        var display = $word
        if (not-eq $about '') {
            set display = $word'  ('$about')'
        }
        edit:complex-candidate $word &code-suffix=$space &display=$display
    }
}
