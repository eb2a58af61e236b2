a = "${
  b
}x"
b = "x${f(
  a,
  b
)}y"
c = "${b
+ c}z"
d = {
  e = "${
    f
  }x"
  g = 1
}
