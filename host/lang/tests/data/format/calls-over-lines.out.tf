a = f(
  1,
  2
)
b = f(1,
2)
c = f(
  1,
  g(
    2,
    3
  )
)
d = f(g(
  1
))
e = merge({
  a = 1
  }, {
  b = 2
})
f = merge(
  {
    a = 1
  },
  {
    b = 2
  },
)
