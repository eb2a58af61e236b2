a"x""y"{
}
b   x"y"   z   {
}
c	"x"	{	}
