a=b[
0
]
c=d[
"x"].e
