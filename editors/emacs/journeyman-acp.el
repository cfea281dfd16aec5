;;; journeyman-acp.el --- A client of the Agent Client Protocol  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; JSON-RPC 2.0 over the program's standard input and output, one message a line: requests with a function
;; that gets the answer, notifications, and the requests of the program, which are answered at once or
;; later.  Emacs never waits.  When the program dies, every request that is open gets an error.
;;
;; Objects are alists with symbols as keys, arrays are vectors; :null and :false are what they say.

;;; Code:

(require 'cl-lib)
(require 'journeyman-base)

(cl-defstruct (journeyman-acp (:constructor journeyman-acp--make))
  "A connection to the program."
  process
  (next 0)
  (open (make-hash-table))
  on-request on-notification on-death)

(defun journeyman-acp-read (text)
  "The JSON value in TEXT."
  (json-parse-string text :object-type 'alist :null-object :null :false-object :false))

(defun journeyman-acp-write (value)
  "VALUE as JSON in one line."
  (decode-coding-string (json-serialize value) 'utf-8 t))

(defun journeyman-acp-start (words on-request on-notification on-death)
  "Connect to the program, started with WORDS, for the current buffer.
ON-REQUEST gets the id, method and parameters of what the program asks;
ON-NOTIFICATION method and parameters of what it tells; ON-DEATH the exit code
and its error output, after every open request has got an error."
  (let ((it (journeyman-acp--make :on-request on-request :on-notification on-notification
                                  :on-death on-death)))
    (setf (journeyman-acp-process it)
          (journeyman-base-start
           "jm-acp" words
           (lambda (line) (journeyman-acp--hear it line))
           (lambda (code said) (journeyman-acp--died it code said))))
    it))

(defun journeyman-acp-live-p (it)
  "Non-nil while the program of IT runs."
  (and it (process-live-p (journeyman-acp-process it))))

(defun journeyman-acp--died (it code said)
  "End IT, whose program ended with CODE and SAID something."
  (let ((open (journeyman-acp-open it)))
    (setf (journeyman-acp-open it) (make-hash-table))
    (maphash (lambda (_id answered)
               (funcall answered nil '((message . "The program has ended"))))
             open))
  (funcall (journeyman-acp-on-death it) code said))

(defun journeyman-acp--hear (it line)
  "Act on a LINE of the program's.
A line that is not a message is ignored."
  (let ((message (ignore-errors (journeyman-acp-read line))))
    (when (consp message)
      (let-alist message
        (cond ((and .method .id) (funcall (journeyman-acp-on-request it) .id .method .params))
              (.method (funcall (journeyman-acp-on-notification it) .method .params))
              (t (let ((answered (gethash .id (journeyman-acp-open it))))
                   (when answered
                     (remhash .id (journeyman-acp-open it))
                     (funcall answered .result .error)))))))))

(defun journeyman-acp--send (it message)
  "Send MESSAGE over IT, unless the program has exited."
  (when (journeyman-acp-live-p it)
    (ignore-errors
      (process-send-string (journeyman-acp-process it)
                           (concat (journeyman-acp-write (cons '(jsonrpc . "2.0") message)) "\n")))))

(defun journeyman-acp-request (it method params answered)
  "Ask METHOD with PARAMS over IT; ANSWERED gets the result or nil, and the error."
  (let ((id (cl-incf (journeyman-acp-next it))))
    (if (not (journeyman-acp-live-p it))
        (funcall answered nil '((message . "The program has ended")))
      (puthash id answered (journeyman-acp-open it))
      (journeyman-acp--send it `((id . ,id) (method . ,method) (params . ,params))))
    id))

(defun journeyman-acp-notify (it method params)
  "Tell METHOD with PARAMS over IT."
  (journeyman-acp--send it `((method . ,method) (params . ,params))))

(defun journeyman-acp-respond (it id result)
  "Answer the program's request ID over IT with RESULT."
  (journeyman-acp--send it `((id . ,id) (result . ,result))))

(defun journeyman-acp-refuse (it id code text)
  "Answer the program's request ID over IT with the error CODE and TEXT."
  (journeyman-acp--send it `((id . ,id) (error . ((code . ,code) (message . ,text))))))

(defun journeyman-acp-end (it)
  "End the program of IT, which stops running calls."
  (when it (journeyman-base-end (journeyman-acp-process it))))

(defun journeyman-acp-error-text (problem)
  "The message of the error object PROBLEM, with its hint."
  (let-alist problem
    (concat .message
            (and (consp .data) (stringp (alist-get 'hint .data))
                 (concat "\nhint: " (alist-get 'hint .data))))))

(provide 'journeyman-acp)
;;; journeyman-acp.el ends here
