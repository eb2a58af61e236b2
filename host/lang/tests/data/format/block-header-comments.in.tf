resource /* first */ "a" /* second */ "b" /* third */ {
}
locals /* kept */ {
}
/* before */ output "x" { # behind
}
output "y" { /* inside */
}
