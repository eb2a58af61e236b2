# first
// second
/* third */
/* fourth
       over lines
  */
resource "a" "b" { # after the brace
  # before the first argument
  a = 1 # after an argument
  // between
  b = 2
  # before the closing brace
} # after the closing brace
# last
