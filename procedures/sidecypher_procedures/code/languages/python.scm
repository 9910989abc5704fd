; Defaults, decorators and bases are evaluated outside of what they belong to, so only the block
; of a definition is its body.
(function_definition name: (identifier) @name ":" @until body: (_) @body) @function @place
(class_definition name: (identifier) @name ":" @until body: (_) @body) @class @place
(lambda body: (_) @until @body) @function
(decorated_definition definition: (_) @inner) @outer

(assignment left: (identifier) @name) @variable
(assignment left: (pattern_list (identifier) @name @variable)) @whole
(assignment left: (tuple_pattern (identifier) @name @variable)) @whole
(type_alias_statement left: (type (identifier) @name)) @variable

(module . (comment)* . (expression_statement . (string (string_start) . (string_content) @docstring . (string_end)) .))
(function_definition body: (block . (comment)* . (expression_statement . (string (string_start) . (string_content) @docstring . (string_end)) .)))
(class_definition body: (block . (comment)* . (expression_statement . (string (string_start) . (string_content) @docstring . (string_end)) .)))

(class_definition superclasses: (argument_list [(identifier) (attribute)] @base)) @derived
(class_definition superclasses: (argument_list (subscript value: (_) @base))) @derived

(call function: (identifier) @name) @call
((call function: (attribute) @callee) @call
  (#set! receiver "object") (#set! name "attribute"))
(call) @call

(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (_) @module alias: (_) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @imported) @import
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (_) @imported alias: (_) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @imported) @import
(aliased_import alias: (_) @renamed)
(future_import_statement name: (dotted_name) @imported (#set! before "__future__")) @import
(future_import_statement name: (aliased_import name: (_) @imported alias: (_) @alias)
  (#set! before "__future__")) @import
