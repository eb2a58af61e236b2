a={
a=1
bbb=2
cc=3
}
b={
"quoted"=1
(computed)=2
"${template}x"=3
plain:4
"a":5
}
c={
a={
b=1
cccc=2
}
ddd={e=1}
f=[
1
]
gggg=5
}
d={
a=1,
bbb=2,
cc=3
}
e={a=1
bbb=2}
f={

a=1

bbb=2

}
