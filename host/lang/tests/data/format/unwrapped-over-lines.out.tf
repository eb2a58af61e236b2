a = b
c = b
d = b
e = (f(
  b
))
f = (b
+ c)
g = (
  b
)
h = (a
  ) + (
b)
i = ([
  1
])
j = ({
  a = 1
})
k = a
l = (/* x */
a)
m = <<EOT
text
EOT
n = (f(<<EOT
text
EOT
))
o = (a
  ? b
: c)
