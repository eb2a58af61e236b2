a   = 1
bbb = 2
block {
  c   = 1 # d
  eee = 1 # f
}
