a = !b
b = !!c
c = !(d)
d = !f(x)
e = [!a, !b]
f = a && !b
g = "${!a}x"
h = !/* x */ a
