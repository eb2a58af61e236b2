

a = 1


b = 2



resource "x" "y" {


  c = 3


  d = 4


}


