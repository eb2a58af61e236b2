a=1
bb  =  2
ccc= 3

dddd=4
e =5
# a comment line
ffffff=6
g=7
