a=[for x in -y:-x]
b=[for x in y:x if -x]
c={for x in y:x=>-x}
d="y${-a}"
e="x${-a}y"
f="%{if -a}x%{endif}"
g=f(-a...)
