a=f(1,{
b=1
},[
2
],{
c=3
})
g=[
for x in y:{
a=1
}if x
]
