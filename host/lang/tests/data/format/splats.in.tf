a=b[*]
b=c[*].d
c=d [*] . e
d=e[ * ].f
e=f.*.g
f=g.*.h[0]
g=h[*].i[*].j
