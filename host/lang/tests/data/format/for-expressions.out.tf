a = [for x in y : x]
b = [for x in y : x]
c = [for x, y in z : x]
d = [for x in y : x if x]
e = { for x in y : x => y }
f = { for x in y : x => y... }
g = { for k, v in m : k => v if v != null }
h = [for x in [1, 2] : x]
i = [for x in { a = 1 } : x]
j = [for x in(y) : x]
k = [for x in f(y) : x]
l = [for in in in : in]
m = [for x in ["a"] : x]
n = [for x in y : x]
o = { for x in y : x => x }
