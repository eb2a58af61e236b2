a={
x:1
yyy:2
zz   :   3
w : {
v:1
}
}
b={
x=1
yyy:2
zz=3
}
