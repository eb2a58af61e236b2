a{b=1}
a "x" { b=1 }
a   {   b   =   1   }
a { b = [1,2,{c=3}] }
a { b = "${c}" } # comment
locals{a=1}
locals { a = 1 }
