in   = 1
for  = 2
if   = 3
null = 4
true = 5
a    = in
b    = for.x
c    = if[0]
d    = { in = 1, for = 2, if = 3 }
