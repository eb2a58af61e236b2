a    = 1  # one
bbbb = 22 # two
cc   = 333

d    = 1             //three
eeee = {} /* four */ # five
f    = 1 /* six */
g    = 22 /* seven */
