a=[
for x in y:
x
]
b=[for x in y:
x
if x
]
c={
for k,v in m:
k=>v
if v!=null
}
d={
for k,v in m:k=>{
a=v
bbb=k
}
}
e=[for x in y:{
a=x
bbb=1
}]
f=flatten([
for x in y:[
for z in x:{
a=z
bb=x
}
]
])
