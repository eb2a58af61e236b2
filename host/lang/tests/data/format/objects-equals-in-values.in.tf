a={
x=a==b
yyy=(a==b)
z={c=d}
"a=b"=1
"${a==b}"=2
}
