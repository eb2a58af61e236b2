a /* name */ = /* value */ 1 /* behind */
b            = [/* one */ 1 /* two */, /* three */ 2 /* four */]
c            = f(/* one */ a /* two */)
d            = { /* one */ a /* two */ = /* three */ 1 /* four */ }
e            = a /* left */ + /* right */ b
f            = /* x */ - /* y */ b
