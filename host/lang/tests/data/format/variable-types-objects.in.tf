variable "a" {
type=object({
name=string
ports=optional(list(number),[80])
labels=map(string)
nested=object({
x=number
yyy=bool
})
})
default={
name="x"
labels={}
nested={x=1,yyy=true}
}
validation {
condition=length(var.a.name)>0
error_message="..."
}
}
variable "b" {
type=tuple([string,number,
bool])
}
