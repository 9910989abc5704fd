(method name: (_) @name) @function
(method name: (_) @name body: (_) @until) @function
(method name: (_) @name "=" @until body: (_) @_body) @function
(singleton_method name: (_) @name) @function
(singleton_method name: (_) @name body: (_) @until) @function
(singleton_method name: (_) @name "=" @until body: (_) @_body) @function
(lambda body: (_) @until) @function
(assignment left: [(identifier) (constant)] @name 
  right: (lambda body: (_) @until) @function) @whole
(class name: (constant) @name) @class
(class name: (scope_resolution scope: (_)? @label name: (_) @name)) @class
(module name: (constant) @name) @class
(module name: (scope_resolution scope: (_)? @label name: (_) @name)) @class
(assignment left: [(constant) (global_variable)] @name) @member
(comment) @comment

(class superclass: (superclass [(constant) (scope_resolution)] @base)) @derived
(call !receiver method: (identifier) @_mixin
  arguments: (argument_list [(constant) (scope_resolution)] @base)
  (#any-of? @_mixin "include" "extend" "prepend"))

(call !receiver method: [(identifier) (constant)] @name) @call
((call receiver: (_)) @call @callee
  (#set! receiver "receiver") (#set! name "method"))
(super) @name @call

(call !receiver method: (identifier) @_require
  arguments: (argument_list . (string (string_content) @module))
  (#eq? @_require "require")) @import
(call !receiver method: (identifier) @_require
  arguments: (argument_list . (string (string_content) @module))
  (#eq? @_require "require_relative")
  (#set! before "./")) @import

; Other names that stand alone are calls or local variables.
(constant) @use
((scope_resolution) @use
  (#set! receiver "scope") (#set! name "name"))
(scope_resolution name: (constant) @other)
(global_variable) @use
