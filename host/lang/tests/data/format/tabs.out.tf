a = 1
block {
  b = [1, 2]
  c = {
    d = 1
  }
}
