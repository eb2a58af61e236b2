a = 1
# comment   
b = [
  1,
]
c {
}

