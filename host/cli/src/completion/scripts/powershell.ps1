# Completion of PROGRAM in PowerShell.

Register-ArgumentCompleter -Native -CommandName 'PROGRAM' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $earlier = @(
        $commandAst.CommandElements |
            Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
            ForEach-Object {
                if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value }
                else { $_.Extent.Text }
            }
    )
    # Some versions omit empty arguments, so an empty word is passed as a pair of quotes.
    $current = if ($wordToComplete) { $wordToComplete } else { "''" }
    $program = $commandAst.CommandElements[0].Extent.Text
    & $program completion powershell -- @earlier $current 2>$null | ForEach-Object {
        $ending, $word, $about = $_ -split "`t", 3
        $inserted = $word
        if ($word -match '[^A-Za-z0-9_./=:+-]') { $inserted = "'" + $word.Replace("'", "''") + "'" }
        if (-not $about) { $about = $word }
        [System.Management.Automation.CompletionResult]::new($inserted, $word, 'ParameterValue', $about)
    }
}
