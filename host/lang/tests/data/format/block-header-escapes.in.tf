a "tab\there" {}
a "quote\"s and back\\slash" {}
a "\u00e9\U0001F600" "new\nline" {}
a "\u0000\u007f\u200b\u00a0" {}
a "" " " {}
a "e\u0301" {}
a "\u0024{" "%%{" "$" {}
