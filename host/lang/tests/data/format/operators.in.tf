a=1+2-3*4/5%6
b=a==b&&c!=d||e<f&&g<=h||i>j&&k>=l
c=!a
d=!  a
e=-1
f=-  a
g=1- -1
h=1--1
i=a-b
j=a -b
l=(-1)
m=[-1,-2]
n=f(-1,a-1)
o={a=-1,b=-2}
p=a*-1
q=a<-1
r=a==-1
s=!-a
t=-!a
u=a&&-b
v=a?-b:-c
w=a[-1]
x=a-1
