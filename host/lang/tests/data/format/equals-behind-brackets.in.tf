a={b=1
cc=2}
d=[{e=1
ff=2}]
g={
(f(a))=b
h=1
}
