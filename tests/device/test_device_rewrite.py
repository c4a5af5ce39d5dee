"""What the stand-in for hipcc makes of HIP's constructs, as text."""

from __future__ import annotations

import re

import pytest

from portkit.device.hipcc.rewrite import rewrite_source
from portkit.device.hipcc.source import Source, SourceError


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def device(text: str) -> str:
    return squeezed(rewrite_source(text, device=True).text)


def host(text: str) -> str:
    return squeezed(rewrite_source(text, device=False).text)


def test_plain_cpp_stays() -> None:
    text = (
        'int f(int a) { return a < 3 ? a << 2 : a >> 1; } // "__shared"\nconst char *s = "<<<";\n'
    )
    assert rewrite_source(text, device=True).text == text
    assert rewrite_source(text, device=False).text == text
    assert not rewrite_source(text, device=True).kernels


def test_system_headers_are_not_touched() -> None:
    text = '# 1 "x.h" 1 3\nint __hipcpu_shared__ a;\n# 2 "y.cpp" 2\nint b;\n'
    assert rewrite_source(text, device=True).text == text


def test_macros_of_system_headers_in_a_source_are_its_own() -> None:
    text = '# 1 "y.cpp"\nvoid f() {\n# 2 "y.cpp" 3\n __hipcpu_shared__\n# 2 "y.cpp"\n int a;\n}'
    assert "hipcpu::Shared" in device(text)


def test_a_kernel_of_the_device_is_registered_in_its_body() -> None:
    text = 'extern "C" __hipcpu_kernel__ void __hipcpu_bounds__(64, 2) k(float *x, int n) { g(x); }'
    result = device(text)
    assert result.startswith('extern "C" __attribute__((visibility("default"))) void k(float *x,')
    assert "Registration<static_cast<void (*)(float * x, int n)>(&k), (64)," in result
    assert result.endswith("g(x); }")


def test_a_kernel_of_the_host_becomes_a_launch() -> None:
    result = host("__hipcpu_kernel__ void k(float *x, int n = 3, T y[2][4]) { anything(x); }")
    assert "{(void *)&x, (void *)&n, (void *)&y, nullptr}" in result
    assert "(1024)" in result
    assert "anything" not in result


@pytest.mark.parametrize("operator", [">>", ">=", "<=", "==", "!=", "&&", "||"])
def test_operators_stay_whole(operator: str) -> None:
    """A blank in an operator makes another program of it, or none (ISO C++17, [lex.operators])."""
    expression = f"n {operator} m"
    assert expression in host(f"void f() {{ k<<<{expression}, 64>>>(x); }}")
    assert expression in device(f"void f() {{ __hipcpu_shared__ float s[{expression}]; }}")
    kernel = f"__hipcpu_kernel__ void __hipcpu_bounds__({expression}) k(float x[{expression}]) {{}}"
    assert device(kernel).count(expression) == 3


def test_a_template_names_its_own_instance() -> None:
    text = (
        "template <typename T, int N = 4, bool... B> static __hipcpu_bounds__(N)"
        " __hipcpu_kernel__ void k(T *x) {}"
    )
    result = device(text)
    assert "(&k<T, N, B...>), (N)," in result
    assert "Instance<T, ::hipcpu::Value<N>, ::hipcpu::Value<B>...>" in result


def test_an_explicit_specialization_names_itself() -> None:
    assert "(&k< int >)" in device("template <> __hipcpu_kernel__ void k<int>(int *x) {}")


def test_declarations_of_kernels_stay_declarations() -> None:
    assert host("__hipcpu_kernel__ void k(int *x);") == "void k(int *x);"


def test_parameters_without_a_name_get_one() -> None:
    result = host("__hipcpu_kernel__ void k(int, const char *, unsigned long) {}")
    assert result.startswith("void k(int hipcpu_argument_0, const char * hipcpu_argument_1,")
    assert "&hipcpu_argument_2" in result


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k<<<g, b>>>(x);", "(hipcpu_configure(g , b), k(x));"),
        (
            "a::k<T, 3><<<dim3(1, 2), b, 4, s>>>(x, f(y));",
            "(hipcpu_configure(dim3 ( 1 , 2 ) , b , 4 , s), a::k<T, 3>(x, f(y)));",
        ),
        ("if (c) (*p)<<<1, 2>>>();", "if (c) (hipcpu_configure(1 , 2), (*p)());"),
        (
            "t.k<(a > b)><<<1, 2>>>(v<w<x>>());",
            "(hipcpu_configure(1 , 2), t.k<(a > b)>(v<w<x>>()));",
        ),
    ],
)
def test_launches(before: str, after: str) -> None:
    assert host(before) == after


def test_shared_variables_are_references() -> None:
    text = "void f() { __hipcpu_shared__ __attribute__((aligned(16))) const T a[N][M + 1], *b; }"
    assert device(text) == (
        'void f() { static ::hipcpu::Shared a_hipcpu_slot{{0, "a"}};'
        " const T (&a)[ N ] [ M + 1 ] = a_hipcpu_slot;"
        ' static ::hipcpu::Shared b_hipcpu_slot{{0, "b"}}; const T *(&b) = b_hipcpu_slot; }'
    )


def test_dynamic_shared_memory_in_a_kernel() -> None:
    assert device("void f() { extern __hipcpu_shared__ T a[]; g(a); }") == (
        "void f() { T (&a)[] = *reinterpret_cast<T (*)[]>(hipcpu_thread.dynamic_shared); g(a); }"
    )


def test_dynamic_shared_memory_of_a_namespace() -> None:
    text = "namespace n { extern __hipcpu_shared__ int a[]; int f() { return a[1] + x.a; } }"
    assert device(text) == (
        "namespace n { int f() { return (::hipcpu::dynamic_shared<int>())[1] + x.a; } }"
    )


def test_a_shared_variable_of_a_namespace_is_refused() -> None:
    with pytest.raises(SourceError, match="move a into the kernel"):
        rewrite_source('# 7 "k.hip"\nnamespace n {\n__hipcpu_shared__ int a; }', device=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "using v = __attribute__((ext_vector_type(8))) _Float16;",
            "using v = typename ::hipcpu::Vector<_Float16, (8)>::Type;",
        ),
        (
            "using v = float __attribute__((ext_vector_type(N)));",
            "using v = typename ::hipcpu::Vector<float, (N)>::Type;",
        ),
        (
            "typedef unsigned int v __attribute__((ext_vector_type(4)));",
            "typedef typename ::hipcpu::Vector<unsigned int, (4)>::Type v ;",
        ),
    ],
)
def test_vectors(before: str, after: str) -> None:
    assert device(before) == after


def test_register_names_of_empty_assembly() -> None:
    assert device('asm volatile("" : "+v"(x) : "s"(y) : "memory");') == (
        'asm volatile("" : "+r"(x) : "r"(y) : "memory");'
    )


def test_assembly_is_refused_with_its_place() -> None:
    with pytest.raises(SourceError, match=r"k\.hip:12: assembly"):
        rewrite_source(
            '# 11 "k.hip"\nint x;\nvoid f() { asm("v_mov_b32 %0, 1" : "=v"(x)); }', device=True
        )


def test_variables_of_the_device_are_visible_and_functions_are_not() -> None:
    text = "__hipcpu_device__ int a[3]; __hipcpu_device__ int f(int b) { return b; }"
    assert (
        device(text)
        == '__attribute__((visibility("default"))) int a[3]; int f(int b) { return b; }'
    )
    assert host(text) == "int a[3]; int f(int b) { return b; }"


def test_lines_stay_where_they_are() -> None:
    text = "__hipcpu_kernel__ void k(\n    int *x,\n    int n) {\n  f();\n}\nint last;\n"
    for side in (True, False):
        assert rewrite_source(text, device=side).text.splitlines()[5] == "int last;"


def test_unbalanced_brackets_are_named() -> None:
    with pytest.raises(SourceError, match="is not closed"):
        Source("f((a)").closing(1)
