a "tab\there" {}
a "quote\"s and back\\slash" {}
a "é😀" "new\nline" {}
a "\u0000\u007f\u200b\u00a0" {}
a "" " " {}
a "é" {}
a "$${" "%%{" "$" {}
