a {}
b{
}
c   {   }
d {

}
e "x"{}
