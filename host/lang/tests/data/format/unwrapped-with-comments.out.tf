a = [ # x
b]
c = f(/* x
y */ a)
d = ( # x
  (
    a
))
e = a # x

