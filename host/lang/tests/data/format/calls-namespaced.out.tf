a = provider::x::f(1)
b = core::max(1, 2)
c = provider::x::f(1)
d = provider::x::f(a...)
