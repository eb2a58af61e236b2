a = b
b = b
c = b.c[0]
d = f("x")
e = a ? "b" : "c"
f = a + b
g = "text"
h = "${a}"
i = "x${a}"
j = [1, 2]
k = { a = 1 }
l = a
m = -a
n = a # comment
o = /* before */ a /* behind */
p = /* x */ a /* y */
q = (a)
r = true
s = a ? "${b}" : "${c}"
block {
  t = a
  inner {
    u = b
  }
}
one { v = c }
